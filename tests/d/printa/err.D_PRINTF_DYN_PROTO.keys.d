/* A * of printa's format needs a key. */
BEGIN { @ = count(); printa("%*@d\n", @); }
