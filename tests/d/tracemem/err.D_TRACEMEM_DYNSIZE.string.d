/* The dynamic size of tracemem is a number. */
BEGIN { tracemem("abc", 4, "x"); }
