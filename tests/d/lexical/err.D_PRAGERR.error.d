/* #error ends the compilation with its text. */
#error not on this machine
BEGIN { exit(0); }
