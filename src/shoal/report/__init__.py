"""Reports and plots of a release."""
