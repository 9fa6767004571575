/* %@ prints a number. */
BEGIN { @a = count(); printa("%@s\n", @a); }
