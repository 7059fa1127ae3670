"""The HTML report: `build` reads a panel's records, `data` and `html` make one file from them."""
