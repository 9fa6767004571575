/* A key that is used as a width must be an integer. */
BEGIN { @["a", 1] = count(); printa("%*d\n", @); }
