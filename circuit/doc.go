// Package circuit reads the files of a circuit and keeps them: the key (.zkey), the constraints (.r1cs), witnesses (.wtns) and the
// witness calculator (.wasm), for Groth16 on BN254 and BLS12-381.
//
// Start with [OpenCatalogue]: a directory with one folder per circuit. [Catalogue.Add] imports a zkey: every check is done once,
// there, and its result is a prepared file (see [Prepare]) that [Catalogue.Open] maps instead of parsing.
//
// Every reader takes its input as hostile: no length is believed before it is compared with what is there, field elements are below
// their modulus, points lie on the curve and in the subgroup. What is wrong with a file is told by a [*FormatError]. Witness values
// are in no error.
package circuit
