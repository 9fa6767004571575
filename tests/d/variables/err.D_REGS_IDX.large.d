/* The index of uregs[ ] must be the number of a register. */
BEGIN { trace(uregs[1000]); }
