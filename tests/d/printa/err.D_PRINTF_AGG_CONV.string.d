/* %@ must be a conversion of numbers. */
BEGIN { @a = count(); printa("%@s\n", @a); }
