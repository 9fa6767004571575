/* The index of uregs[ ] is one of its registers. */
BEGIN { trace(uregs[1000]); }
