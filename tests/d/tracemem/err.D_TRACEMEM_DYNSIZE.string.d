/* The third argument of tracemem, the dynamic size, must be a number. */
BEGIN { tracemem("abc", 4, "x"); }
