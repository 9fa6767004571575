module gostack

go 1.19
