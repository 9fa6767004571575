module gorounds

go 1.19
