/* %@ cannot be combined with a conversion for strings. */
BEGIN { @a = count(); printa("%@s\n", @a); }
