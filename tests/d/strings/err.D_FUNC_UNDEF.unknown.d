/* A function that is not D's is not known. */
BEGIN { x = strlenn("a"); }
