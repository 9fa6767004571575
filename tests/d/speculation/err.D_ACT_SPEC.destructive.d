/*
 * A destructive action cannot follow speculate.
 * @flags: -w
 */
BEGIN { speculate(1); system("true"); }
