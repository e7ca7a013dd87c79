"""From a plan to what people and machines read: manifests, pages, folders."""
