module kubectl-lbipmode.test/tools/gojson

go 1.26.0
