/* The format of printa must not have more conversions than there are keys. */
BEGIN { @a[1] = count(); printa("%d %d %@d\n", @a); }
