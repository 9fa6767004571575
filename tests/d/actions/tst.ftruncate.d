/*
 * ftruncate is accepted when the output is no file.
 * @flags: -q
 */
BEGIN { printf("a"); ftruncate(); printf("b\n"); exit(0); }
