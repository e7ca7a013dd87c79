"""The release on disk: manifests, public and private files, folders."""
