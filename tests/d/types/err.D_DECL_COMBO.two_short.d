/* short may be written only once. */
BEGIN { trace((short short int)1); }
