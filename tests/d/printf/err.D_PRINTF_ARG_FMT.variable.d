/* A format must be a string constant. */
BEGIN { s = "a"; printf(s); }
