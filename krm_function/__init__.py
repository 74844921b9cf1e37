"""The KRM function: the same rules and the same editor for kustomize and kpt."""
