class BadInputError(ValueError):
    """Something a person gave is not usable; the message is one sentence that says what and why.

    Commands print it without a traceback.
    """
