/* %@ can be used only in printa. */
BEGIN { @a = count(); printf("%@d\n", 1); }
