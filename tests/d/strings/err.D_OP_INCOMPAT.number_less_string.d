/* A string cannot be subtracted from a number. */
BEGIN { s = "a"; trace(1 - s); }
