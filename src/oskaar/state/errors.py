"""What is wrong with a file."""


class StateError(ValueError):
    """A state that cannot be saved, or a file that cannot be trusted to be one."""
