-- For Neovim 0.7 and later: require("gpmem").setup() starts the language server in every buffer of gpmem. The folder
-- vim/ beside this one (colours, indents) goes on the runtimepath, too.
local M = {}

local function start(buffer, command)
  local root = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ":p:h")
  if vim.lsp.start then -- 0.8
    return vim.lsp.start({ name = "gpmem", cmd = command, root_dir = root }, { bufnr = buffer })
  end
  if not M.client or not vim.lsp.get_client_by_id(M.client) then
    M.client = vim.lsp.start_client({ name = "gpmem", cmd = command, root_dir = root })
  end
  if M.client then vim.lsp.buf_attach_client(buffer, M.client) end
  return M.client
end

-- options.cmd: the server's command, { "gpmem", "lsp" } unless given.
function M.setup(options)
  local command = options and options.cmd or { "gpmem", "lsp" }
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "gpmem",
    callback = function(event)
      start(event.buf, command)
      vim.bo[event.buf].omnifunc = "v:lua.vim.lsp.omnifunc"
    end,
  })
  vim.api.nvim_create_user_command("GpmemRun", function()
    vim.cmd("write")
    vim.cmd("split | terminal " .. vim.fn.shellescape(command[1]) .. " run " .. vim.fn.shellescape(vim.fn.expand("%")))
  end, {})
end

return M
