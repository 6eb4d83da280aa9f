"""The study: oskaar and its peers on the same rows, in the same order, on the same machine."""
