/* A function that D does not have is unknown. */
BEGIN { x = strlenn("a"); }
