/* Subroutines that need a kernel are refused by name. */
BEGIN { x = mutex_owned(0); }
