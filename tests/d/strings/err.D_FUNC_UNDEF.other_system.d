/* Subroutines of other systems are refused by name. */
BEGIN { x = msgsize(0); }
