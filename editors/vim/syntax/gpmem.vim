" Vim syntax of gpmem. The lists of names are filled in by tools/editors from `gpmem reference`.
if exists("b:current_syntax")
  finish
endif
syn match gpmemNumber "\<\d\+\.\?\d*\([eE][-+]\?\d\+\)\?\>"
syn match gpmemTag "#[A-Za-z_][A-Za-z0-9_]*"
syn match gpmemComment "//.*$" contains=@Spell
syn region gpmemBlock start="/\*\*" end="\*\*/" contains=gpmemBlock,@Spell
syn region gpmemString start=+"+ skip=+\\.+ end=+"+
syn case ignore
syn keyword gpmemDirective {{directive}}
syn keyword gpmemControl {{control}}
syn case match
syn keyword gpmemConstant {{constant}}
syn keyword gpmemSpecial {{form}}
syn keyword gpmemDistribution {{random}}
syn keyword gpmemMaker {{maker}}
syn keyword gpmemOperator {{operator}}
syn keyword gpmemFunction {{procedure}}
hi def link gpmemNumber Number
hi def link gpmemTag Identifier
hi def link gpmemComment Comment
hi def link gpmemBlock Comment
hi def link gpmemString String
hi def link gpmemDirective Statement
hi def link gpmemControl Conditional
hi def link gpmemConstant Constant
hi def link gpmemSpecial Special
hi def link gpmemDistribution Type
hi def link gpmemMaker Type
hi def link gpmemOperator PreProc
hi def link gpmemFunction Function
let b:current_syntax = "gpmem"
