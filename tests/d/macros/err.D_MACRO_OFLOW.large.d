/*
 * A numeric argument must fit into 64 bits.
 * @args: 18446744073709551616
 */
BEGIN { exit($1); }
