# SPDX-License-Identifier: Apache-2.0


def raises(kind, words, call):
    """The error that the call raises: of that kind, or of one of those, and with these words."""
    try:
        call()
    except kind as e:
        assert words in str(e), e
        return e
    raise AssertionError("no error: " + words)
