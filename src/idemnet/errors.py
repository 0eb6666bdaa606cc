class BadInputError(ValueError):
    """Invalid input from the user; the message is one sentence that names it and the problem.

    Commands print it without a traceback.
    """


def find_bad_input(error: BaseException) -> BadInputError | None:
    """Return the bad input that an error was caused by, if it was."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, BadInputError):
        cause = cause.__cause__
    return cause
