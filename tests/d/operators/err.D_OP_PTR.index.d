/* An index follows a pointer or an array. */
BEGIN { y = (5)[0]; }
