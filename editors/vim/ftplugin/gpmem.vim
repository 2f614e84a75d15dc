" What belongs to a buffer of gpmem: comments, the width of an indent, gpmem check as :make, gpmem fmt by gq.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal iskeyword=@,48-57,_ commentstring=//\ %s comments=://
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal makeprg=gpmem\ check\ % formatprg=gpmem\ fmt
setlocal errorformat=%f:%l:%c:\ %trror[%m,%f:%l:%c:\ %tarning[%m,%-G%.%#
let b:undo_ftplugin = "setlocal iskeyword< commentstring< comments< expandtab< shiftwidth< softtabstop< makeprg< formatprg< errorformat<"
