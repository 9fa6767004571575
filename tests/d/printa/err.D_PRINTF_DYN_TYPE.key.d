/* A key that is a width is an integer. */
BEGIN { @["a", 1] = count(); printa("%*d\n", @); }
