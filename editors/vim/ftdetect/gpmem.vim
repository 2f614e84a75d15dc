autocmd BufNewFile,BufRead *.vnts,*.vnt,*.gpm set filetype=gpmem
