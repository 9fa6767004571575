/* A call to a function that D does not have is refused. */
BEGIN { x = strlenn("a"); }
