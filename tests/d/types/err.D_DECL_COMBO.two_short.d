/* short is written once. */
BEGIN { trace((short short int)1); }
