"""Lossless YAML editing: cut the original text and put it together again.

A parser is used for positions only; YAML is never written back from objects. Knows nothing of
Kubernetes.
"""
