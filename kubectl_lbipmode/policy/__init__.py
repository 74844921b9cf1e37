"""The admission policy: the API server itself puts the right mode into every status write.

`cel` says in CEL what the rules core says in Python, `admission` makes Kubernetes' own objects of
it, `kyverno` those for Kyverno, `selectors` narrows them, and `check` asks a live server whether it
all works.
"""
