/* A * in the format of printa needs a key. */
BEGIN { @ = count(); printa("%*@d\n", @); }
