package bankfile

// The tables of SISPAG are typed from Itaú's own manual, version 085 (with Pix; its text is stored), and compared with
// version 083 (January 2017; starkbank/febraban-python 47ea9d7) and wlrsilveira/cnab-sispag a9279c3 (version 086).
var (
	sispagHeader = table{"the file's header", `
		1-3 num =341
		4-7 num =0000
		8-8 num =0
		9-14 blank
		15-17 num =080
		18-18 num! kind (1 2)
		19-32 num! document
		33-52 blank
		53-57 num! branch
		58-58 blank
		59-70 num! account
		71-71 blank
		72-72 num account_digit
		73-102 alpha! name
		103-132 alpha =BANCO_ITAU_SA
		133-142 blank
		143-143 num =1
		144-151 num! date
		152-157 num! time
		158-166 zeros
		167-171 zeros
		172-240 blank`}
	sispagBatch = table{"a batch's header", `
		1-3 num =341
		4-7 num! batch
		8-8 num =1
		9-9 alpha =C
		10-11 num =20
		12-13 num! form (01 05 06 41 43 45)
		14-16 num =040
		17-17 blank
		18-18 num! kind (1 2)
		19-32 num! document
		33-36 blank
		37-52 blank
		53-57 num! branch
		58-58 blank
		59-70 num! account
		71-71 blank
		72-72 num account_digit
		73-102 alpha! name
		103-132 blank
		133-142 blank
		143-172 blank
		173-177 zeros
		178-192 blank
		193-212 blank
		213-220 zeros
		221-222 blank
		223-230 blank
		231-240 blank`}
	sispagA = table{"segment A", `
		1-3 num =341
		4-7 num! batch
		8-8 num =3
		9-13 num! payment
		14-14 alpha =A
		15-17 num =000
		18-20 num house (000 009)
		21-23 num payee_bank
		24-43 text payee_place
		44-73 alpha! payee
		74-93 alpha! reference
		94-101 num! date
		102-104 alpha =REA (REA 009)
		105-112 blank
		113-114 alpha transfer
		115-119 zeros
		120-134 num! amount
		135-149 blank
		150-154 blank
		155-162 zeros
		163-177 zeros
		178-197 blank
		198-203 zeros
		204-217 num! payee_document
		218-219 blank
		220-224 alpha purpose
		225-229 blank
		230-230 alpha =0 (0 3 5 9)
		231-240 blank`}
	sispagB = table{"segment B", `
		1-3 num =341
		4-7 num! batch
		8-8 num =3
		9-13 num! payment
		14-14 alpha =B
		15-17 blank
		18-18 num! payee_kind (1 2)
		19-32 num! payee_document
		33-62 blank
		63-67 zeros
		68-82 blank
		83-97 blank
		98-117 blank
		118-125 zeros
		126-127 blank
		128-227 blank
		228-230 blank
		231-240 blank`}
	sispagPixB = table{"segment B of a Pix", `
		1-3 num =341
		4-7 num! batch
		8-8 num =3
		9-13 num! payment
		14-14 alpha =B
		15-16 alpha! key_kind (01 02 03 04)
		17-17 blank
		18-18 num! payee_kind (1 2)
		19-32 num! payee_document
		33-62 blank
		63-127 blank
		128-227 text! key
		228-230 blank
		231-240 blank`}
	sispagBatchEnd = table{"a batch's trailer", `
		1-3 num =341
		4-7 num! batch
		8-8 num =5
		9-17 blank
		18-23 num! records
		24-41 num! sum
		42-59 zeros
		60-230 blank
		231-240 blank`}
	sispagEnd = table{"the file's trailer", `
		1-3 num =341
		4-7 num =9999
		8-8 num =9
		9-17 blank
		18-23 num! batches
		24-29 num! all_records
		30-240 blank`}
)
