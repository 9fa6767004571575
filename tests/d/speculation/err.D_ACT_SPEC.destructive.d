/*
 * No destructive action follows speculate.
 * @flags: -w
 */
BEGIN { speculate(1); system("true"); }
