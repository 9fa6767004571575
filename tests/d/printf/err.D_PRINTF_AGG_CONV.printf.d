/* %@ belongs to printa. */
BEGIN { @a = count(); printf("%@d\n", 1); }
