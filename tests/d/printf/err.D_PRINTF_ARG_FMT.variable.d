/* A format is a string constant. */
BEGIN { s = "a"; printf(s); }
