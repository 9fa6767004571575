/* Only a pointer or an array can be indexed. */
BEGIN { y = (5)[0]; }
