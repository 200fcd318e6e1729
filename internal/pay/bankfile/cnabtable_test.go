package bankfile

import "strings"

// The tables of CNAB 240 are typed from Bradesco's manuals of Multipag (version 8, June 2019; edition
// with Pix, version 6, July 2023), which repeat FEBRABAN's layout field by field, and compared with
// raykavin/gocnab c67fe74 (FEBRABAN 081). The rules of Bradesco's validator (ERP-Bem-Comum/cnab-validator
// d0cfad8, 20 August 2026) are in them: what must not be empty, which codes there are, and that the nominal date and
// amount of segment B are those of segment A.
var (
	cnabHeader = table{"the file's header", `
		1-3 num! bank
		4-7 num =0000
		8-8 num =0
		9-17 blank
		18-18 num! kind (1 2)
		19-32 doc! document
		33-52 alpha! agreement
		53-57 num! branch
		58-58 alpha branch_digit
		59-70 num! account
		71-71 alpha! account_digit
		72-72 blank
		73-102 alpha! name
		103-132 alpha! bank_name
		133-142 blank
		143-143 num =1
		144-151 num! date
		152-157 num! time
		158-163 num! sequence
		164-166 num! file_version (060 089 103)
		167-171 num =01600 (01600 06250)
		172-174 alpha pix
		175-191 blank
		192-211 blank
		212-240 blank`}
	cnabBatch = table{"a batch's header", `
		1-3 num! bank
		4-7 num! batch
		8-8 num =1
		9-9 alpha =C
		10-11 num =20
		12-13 num! form (01 05 41 43 45)
		14-16 num! batch_version (031 045 046)
		17-17 blank
		18-18 num! kind (1 2)
		19-32 doc! document
		33-52 alpha! agreement
		53-57 num! branch
		58-58 alpha branch_digit
		59-70 num! account
		71-71 alpha! account_digit
		72-72 blank
		73-102 alpha! name
		103-142 blank
		143-172 blank
		173-177 zeros
		178-192 blank
		193-212 blank
		213-217 zeros
		218-220 blank
		221-222 blank
		223-224 num =01
		225-230 blank
		231-240 blank`}
	cnabA = table{"segment A", `
		1-3 num! bank
		4-7 num! batch
		8-8 num =3
		9-13 num! number
		14-14 alpha =A
		15-15 num =0
		16-17 num =00
		18-20 num house (000 009 018)
		21-23 num payee_bank
		24-28 num payee_branch
		29-29 alpha payee_branch_digit
		30-41 num payee_account
		42-42 alpha payee_digit
		43-43 blank
		44-73 alpha! payee
		74-93 alpha! reference
		94-101 num! date
		102-104 alpha =BRL
		105-119 zeros
		120-134 num! amount
		135-154 blank
		155-162 zeros
		163-177 zeros
		178-217 blank
		218-219 blank
		220-224 alpha purpose
		225-226 alpha account_kind
		227-229 blank
		230-230 num =0 (0 2 5 6 7)
		231-240 blank`}
	cnabB = table{"segment B", `
		1-3 num! bank
		4-7 num! batch
		8-8 num =3
		9-13 num! number
		14-14 alpha =B
		15-17 blank
		18-18 num! payee_kind (1 2)
		19-32 doc! payee_document
		33-67 blank
		68-72 zeros
		73-117 blank
		118-122 zeros
		123-127 blank
		128-135 num! date
		136-150 num! amount
		151-165 zeros
		166-180 zeros
		181-195 zeros
		196-210 zeros
		211-225 blank
		226-226 num =0 (0 2 5 6 7)
		227-232 zeros
		233-240 zeros`}
	bradescoB = table{"segment B of Bradesco", strings.NewReplacer("33-67 blank", "33-62 blank", "68-72 zeros", "63-67 zeros", "73-117 blank", "68-117 blank").Replace(cnabB.fields)}
	cnabPixB  = table{"segment B of a Pix", `
		1-3 num! bank
		4-7 num! batch
		8-8 num =3
		9-13 num! number
		14-14 alpha =B
		15-17 alpha! key_kind (01 02 03 04)
		18-18 num! payee_kind (1 2)
		19-32 doc! payee_document
		33-67 blank
		68-127 blank
		128-226 text! key
		227-232 zeros
		233-240 zeros`}
	cnabBatchEnd = table{"a batch's trailer", `
		1-3 num! bank
		4-7 num! batch
		8-8 num =5
		9-17 blank
		18-23 num! records
		24-41 num! sum
		42-59 zeros
		60-65 zeros
		66-230 blank
		231-240 blank`}
	cnabEnd = table{"the file's trailer", `
		1-3 num! bank
		4-7 num =9999
		8-8 num =9
		9-17 blank
		18-23 num! batches
		24-29 num! all_records
		30-35 zeros
		36-240 blank`}
)
