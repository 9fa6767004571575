/* A string is not subtracted from a number. */
BEGIN { s = "a"; trace(1 - s); }
